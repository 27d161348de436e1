// A text is shown if its box can be hit with the pointer, and the element around is visible.
function isShown(text) {
  const element = text.parentElement;
  let box = element;
  while (getComputedStyle(box).display === "contents") box = box.parentElement;
  if (!box.checkVisibility({opacityProperty: true, visibilityProperty: true})) return false;
  const range = document.createRange();
  range.selectNodeContents(text);
  return [...range.getClientRects()].some(area => {
    const hit = document.elementFromPoint(area.left + area.width / 2, area.top + area.height / 2);
    return area.width > 0 && area.height > 0 && (hit === element || hit === box);
  });
}
function read(top) {
  const texts = [], walker = document.createTreeWalker(top, NodeFilter.SHOW_TEXT);
  while (walker.nextNode())
    if (walker.currentNode.data.trim() && isShown(walker.currentNode)) texts.push(walker.currentNode.data.trim());
  return texts.join(" ");
}
const answers = document.createElement("pre");
answers.id = "answers";
answers.textContent = JSON.stringify([...document.querySelectorAll(".case")].map(read));
document.body.append(answers);

"""Pages in the browser on which a person looks at drops and corrects them."""

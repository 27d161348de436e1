"""Every ``DEDUP_*`` setting: type, allowed values, default and explanation, each stated once."""

from crawler_dedup.config.settings import AUTO, INDEX_CACHE, MAP_SIZE, PREFIX, Config, nearest_settings, setting_name

__all__ = ["AUTO", "INDEX_CACHE", "MAP_SIZE", "PREFIX", "Config", "nearest_settings", "setting_name"]

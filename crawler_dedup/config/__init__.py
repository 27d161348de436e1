"""Every ``DEDUP_*`` setting: type, allowed values, default and explanation, each stated once."""

from crawler_dedup.config.settings import AUTO, MAP_SIZE, PREFIX, Config, nearest_settings, setting_name

__all__ = ["AUTO", "MAP_SIZE", "PREFIX", "Config", "nearest_settings", "setting_name"]

"""From files to what they say."""

"""Signs that several causes use."""

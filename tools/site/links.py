"""A hook of MkDocs: links from docs/ to other files of the checkout lead to the repository.

https://www.mkdocs.org/dev-guide/plugins/#on_page_markdown
"""

import re
from typing import Any, Final

INDEX: Final = "README.md"
# HTML, which MkDocs does not check: the page is written beside its own (python -m tools.site).
_IN_BROWSER: Final = '<a href="audit-in-browser/">Audit a configuration in your browser</a>: it is sent nowhere.'


def on_page_markdown(markdown: str, *, config: Any, page: Any, **_: object) -> str:
    """Return a page's text with the links that leave docs/ replaced."""
    up = re.escape("../" * (page.file.src_uri.count("/") + 1))
    address = f"{config['repo_url'].rstrip('/')}/blob/HEAD"
    text = re.sub(rf"\]\({up}([^)\s]+)\)", rf"]({address}/\1)", markdown)
    return text.replace("\n\n## ", f"\n\n{_IN_BROWSER}\n\n## ", 1) if page.file.src_uri == INDEX else text

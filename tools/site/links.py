"""Hooks for MkDocs (https://www.mkdocs.org/dev-guide/plugins/#events): what the site adds to the pages in docs/.

They turn links from docs/ to other files in the checkout into links to the repository, and add a page of verdicts by
machine.
"""

import re
from pathlib import Path
from typing import Any, Final

from mkdocs.structure.files import File

from tools.site.verdicts import page_of

INDEX: Final = "README.md"
# HTML, since MkDocs checks links in Markdown, and python -m tools.site writes audit-in-browser/ later.
_MORE: Final = (
    '<a href="audit-in-browser/">Audit a configuration in your browser</a>: it is sent nowhere. '
    '<a href="by-machine/">Verdicts by version and machine</a>'
)
CONTRIBUTED: Final = Path(__file__).parents[2] / "contributed"


def on_files(files: Any, *, config: Any) -> Any:
    """Add the page of verdicts by machine."""
    files.append(File.generated(config, "by-machine.md", content=page_of(CONTRIBUTED)[0]))
    return files


def on_page_markdown(markdown: str, *, config: Any, page: Any, **_: object) -> str:
    """Return a page's text with its links out of docs/ replaced; the index also links to what the site adds."""
    up = re.escape("../" * (page.file.src_uri.count("/") + 1))
    address = f"{config['repo_url'].rstrip('/')}/blob/HEAD"
    text = re.sub(rf"\]\({up}([^)\s]+)\)", rf"]({address}/\1)", markdown)
    return text.replace("\n\n## ", f"\n\n{_MORE}\n\n## ", 1) if page.file.src_uri == INDEX else text

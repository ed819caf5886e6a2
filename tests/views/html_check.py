"""Reads HTML as a browser would and reports everything that a static view must not contain."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

TAGS = {"div", "span", "details", "summary", "img"}
ATTRIBUTES = {"style", "class", "open", "dir", "alt", "src"}
CLASSES = {"tex2jax_ignore mathjax_ignore"}
STYLES = {
    "align-items", "background", "border", "border-left", "border-radius", "border-top", "color",
    "cursor", "display", "flex-wrap", "font-family", "font-size", "font-weight", "gap",
    "grid-template-columns", "height", "letter-spacing", "line-height", "margin", "max-height",
    "max-width", "min-width", "opacity", "overflow", "overflow-wrap", "padding", "text-align",
    "text-overflow", "text-transform", "vertical-align", "white-space", "width",
}  # fmt: skip
STYLE_VALUE = re.compile(r"[\w #%.,()'+-]+")
FORBIDDEN_VALUES = ("url(", "var(", "expression", "anywhere", "inherit", "javascript")
SVG_TAGS = {"svg", "g", "rect", "path", "circle", "text", "title"}
SVG_ATTRIBUTES = {
    "width", "height", "viewBox", "font-family", "x", "y", "rx", "r", "cx", "cy", "d", "fill",
    "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "transform",
    "color", "font-size", "font-weight",
}  # fmt: skip
_IMAGE = "data:image/svg+xml;base64,"


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.problems: list[str] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.images: list[str] = []
        self.alts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.problems.append(f"tag {tag}")
        if tag != "img":
            self.open.append(tag)
        for name, value in attrs:
            self._attribute(name, value or "")

    def _attribute(self, name: str, value: str) -> None:
        if name not in ATTRIBUTES:
            self.problems.append(f"attribute {name}")
        elif name == "style":
            self.problems += style_problems(value)
        elif name == "class" and value not in CLASSES:
            self.problems.append(f"class {value}")
        elif name == "alt":
            self.alts.append(value)
        elif name == "src":
            if not value.startswith(_IMAGE):
                self.problems.append(f"src {value[:60]}")
            self.images.append(base64.b64decode(value.removeprefix(_IMAGE)).decode())

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"stray end of {tag}")

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        self.problems.append(f"comment {data[:60]}")

    def handle_decl(self, decl: str) -> None:
        self.problems.append(f"declaration {decl[:60]}")

    def handle_pi(self, data: str) -> None:
        self.problems.append(f"processing instruction {data[:60]}")


def problems(html: str) -> list[str]:
    """Everything in the HTML, and in the drawings within it, that is not allowed."""
    reader = _read(html)
    found = reader.problems + [f"{tag} is not closed" for tag in reader.open]
    return found + [problem for image in reader.images for problem in svg_problems(image)]


def text_of(html: str) -> str:
    """What a reader sees: text, and the alternative texts of images."""
    reader = _read(html)
    return "".join(reader.text + reader.alts)


def images_of(html: str) -> list[str]:
    """The SVG documents within."""
    return _read(html).images


def alts_of(html: str) -> list[str]:
    """The alternative texts of images."""
    return _read(html).alts


def svg_problems(document: str) -> list[str]:
    """Everything in an SVG document that is not allowed."""
    found = []
    for element in ET.fromstring(document).iter():  # noqa: S314 - our own output
        name = element.tag.removeprefix("{http://www.w3.org/2000/svg}")
        if name not in SVG_TAGS:
            found.append(f"svg tag {name}")
        found += [f"svg attribute {a}" for a in element.attrib if a not in SVG_ATTRIBUTES]
        found += [f"svg value {v}" for v in element.attrib.values() if "url(" in v or "script" in v]
    return found


def style_problems(style: str) -> list[str]:
    """Every declaration of an inline style that is unknown, or that JupyterLab would drop."""
    found = []
    for declaration in filter(None, style.split(";")):
        name, _, value = declaration.partition(":")
        is_known = name in STYLES and STYLE_VALUE.fullmatch(value)
        if not is_known or any(word in value for word in FORBIDDEN_VALUES):
            found.append(f"style {declaration}")
    return found


def _read(html: str) -> _Reader:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader

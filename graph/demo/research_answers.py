"""What is recorded of a model that does research: it reads what its prompt shows, and copies out of it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, Final

from graph.demo.recorded import data_in
from graph.demo.research_library import words_of

PAGES_READ: Final = 2
CLAIMS_A_PAGE: Final = 2
CANNOT: Final = '{"reply": {"cannot": "nothing is recorded but the answers that this example needs"}}'

_PLANNER = "You plan work that a program carries out"
_OUTLINE = (
    ("What it costs", "costs of buying and insuring {topic}, in euros"),
    ("How it performs", "performance and speed of {topic}, on time or not"),
    ("What it does to the environment", "emissions of carbon dioxide and noise by {topic}, environment"),
    ("What stands in the way", "obstacles to {topic}: rules, riders"),
)
_TOPIC = re.compile(r"short report on (.*?): two to four", re.DOTALL)
_TASK = re.compile(r"The whole task: write a report on (.*) into \S+$", re.MULTILINE)
_WANTED = re.compile(r'that answer "(.*?)"\. Each has', re.DOTALL)
_OFFERED = re.compile(r'<data from="search">(.*?)</data>', re.DOTALL)
_FETCHED = re.compile(r'<data from="read_page">(.*?)</data>', re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_CLAIM = re.compile(r'^- "(.*)" (\[\d+\])$', re.MULTILINE)


def recorded_research(prompt: str) -> str:
    """The answer to a prompt of the outline, of a section's reader, or of the summary."""
    if _PLANNER in prompt:
        return CANNOT
    topic, wanted = _TOPIC.search(prompt), _WANTED.search(prompt)
    if topic is not None:
        return _outline(topic[1])
    if wanted is not None:
        return json.dumps({"next": _next_turn(prompt, wanted[1])}, ensure_ascii=False)
    confirmed = data_in(prompt).get("confirmed")
    return _summary(str(confirmed["markdown"])) if isinstance(confirmed, dict) else CANNOT


def _outline(topic: str) -> str:
    sections = [{"heading": heading, "query": query.format(topic=topic)} for heading, query in _OUTLINE]
    return json.dumps({"sections": sections}, ensure_ascii=False)


def _next_turn(prompt: str, wanted: str) -> dict[str, Any]:
    """One page after the other, then what was found in them."""
    task, offered = _TASK.search(prompt), _OFFERED.search(prompt)
    topic = words_of(task[1] if task else "")
    rows = _read(offered[1], []) if offered else []
    urls = [row["url"] for row in rows if topic & words_of(f"{row['title']} {row['snippet']}")]
    fetched = _FETCHED.findall(prompt)
    if len(fetched) < min(PAGES_READ, len(urls)):
        return {"tool": "read_page", "args": {"url": urls[len(fetched)]}}
    pages = (_read(each, None) for each in fetched)
    claims = _claims([page for page in pages if isinstance(page, dict)], words_of(wanted) - topic)
    return {"result": {"claims": list(claims)}}


def _read(text: str, otherwise: Any) -> Any:
    try:
        return json.loads(text.replace("<\\/data", "</data"))
    except ValueError:
        return otherwise


def _claims(pages: Sequence[Mapping[str, Any]], wanted: Set[str]) -> Iterator[dict[str, str]]:
    """The sentences of each page that share most words with what is wanted, rare ones first."""
    found = [(page["url"], _sentences(page)) for page in pages]
    every = [words_of(sentence) for _, sentences in found for sentence in sentences]
    counts = {word: sum(word in words for words in every) for word in wanted}
    telling = {word: 1 / count for word, count in counts.items() if count}
    for url, sentences in found:
        scores = {each: sum(telling.get(word, 0.0) for word in words_of(each)) for each in sentences}
        best = sorted(sentences, key=lambda each: -scores[each])[:CLAIMS_A_PAGE]
        yield from ({"text": each, "quote": each, "url": url} for each in best if scores[each] > 0)


def _sentences(page: Mapping[str, Any]) -> list[str]:
    lines = (line for line in page["text"].splitlines() if line != page["title"])
    return [sentence for line in lines for sentence in _SENTENCE.split(line)]


def _summary(markdown: str) -> str:
    """The first claim of each section."""
    sections = markdown.split("## ")[1:]
    first = (_CLAIM.search(section) for section in sections)
    return " ".join(f"{claim[1]} {claim[2]}" for claim in first if claim is not None)

"""CPU time and bytes of rendering long answers as they stream: ``python -m`` this module."""

from __future__ import annotations

import json
import time

from ai_answers.rendering import LinkPolicy, PartRenderer
from tests.rendering.long_answers import ANSWERS, pieces


def main() -> None:
    links = LinkPolicy(base="https://site.example/")
    print(f"{'answer':<18}{'CPU s':>8}{'worst ms':>10}{'x HTML':>9}{'x with frames':>15}")
    for name, text in ANSWERS.items():
        renderer = PartRenderer(links=links, reference_count=2)
        sent = framed = 0
        worst = total = 0.0
        for piece in [*pieces(text), None]:
            begin = time.process_time()
            events = renderer.flush() if piece is None else renderer.feed(piece)
            took = time.process_time() - begin
            total, worst = total + took, max(worst, took)
            for event in events:
                data = {"index": event.index, "child": event.child}
                data |= {"append": event.append} if event.html is None else {"html": event.html}
                frame = "event: part\nid: 1234\ndata: " + json.dumps(data, ensure_ascii=False)
                sent += len((event.html or event.append or "").encode())
                framed += len(frame.encode()) + 2
        final = len("".join(renderer.parts).encode())
        times = f"{total:>8.3f}{worst * 1000:>10.2f}"
        print(f"{name:<18}{times}{sent / final:>9.2f}{framed / final:>15.2f}")


if __name__ == "__main__":
    main()

import asyncio
import time

from ai_answers.answers.coalescing import INTERVAL_SECONDS, PAUSE_SECONDS, Coalescer


def run(scenario):
    """Run ``scenario(coalescer, flushes, pauses)`` and return when flushes and pauses came."""

    async def main():
        loop = asyncio.get_running_loop()
        flushes, pauses = [], []
        coalescer = Coalescer(
            lambda: flushes.append(loop.time()), idle=lambda: pauses.append(loop.time())
        )
        await scenario(coalescer)
        coalescer.cancel()
        return flushes, pauses

    return asyncio.run(main())


def test_the_first_content_leaves_at_once_and_the_rest_about_ten_times_a_second():
    async def stream(coalescer):
        began = time.monotonic()
        while time.monotonic() - began < 1.05:
            coalescer.touch()
            await asyncio.sleep(0.005)

    flushes, _ = run(stream)
    assert 5 <= len(flushes) <= 12
    gaps = [b - a for a, b in zip(flushes, flushes[1:], strict=False)]
    assert min(gaps) >= INTERVAL_SECONDS * 0.9


def test_a_last_touch_is_flushed_although_nothing_follows_and_a_pause_is_noticed():
    async def stream(coalescer):
        coalescer.touch()
        coalescer.touch()
        await asyncio.sleep(INTERVAL_SECONDS + PAUSE_SECONDS + 0.5)

    flushes, pauses = run(stream)
    assert len(flushes) == 2 and len(pauses) == 1 and pauses[0] > flushes[1]


def test_nothing_comes_after_cancel():
    async def stream(coalescer):
        coalescer.touch()
        coalescer.touch()
        coalescer.cancel()
        await asyncio.sleep(INTERVAL_SECONDS + PAUSE_SECONDS + 0.2)

    flushes, pauses = run(stream)
    assert len(flushes) == 1 and pauses == []

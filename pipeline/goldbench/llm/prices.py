"""What tokens cost, by the user's prices or the table of ``genai-prices``, and what was spent."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from goldbench.errors import UsageError
from goldbench.llm.server_settings import ModelSettings
from goldbench.ports import Usage
from goldbench.records.manifest import StageUsage

BATCH_SHARE = 0.5
"""The share of the price of single calls that a batch costs (0.5 = 50 %), at every provider with batches."""


class PriceList:
    """The prices of one model, of the user or of the table; nothing is fetched."""

    def __init__(
        self, settings: ModelSettings, *, model: str | None = None, embedding: bool = False, share: float = 1.0
    ) -> None:
        """Take the model.

        Args:
            settings: The server, the user's prices and the caps.
            model: The model's name, None for the chat model of the settings.
            embedding: Whether it is an embedding model.
            share: The part of the price that is paid, 0 to 1: ``BATCH_SHARE`` in a provider's batches.
        """
        self._share = share
        self._embedding = embedding
        self._own = settings.prices
        self._model = model or settings.name
        self._url = settings.base_url
        self._server = settings.shown_url()
        self._in_table = True

    def require(self) -> None:
        """Raise ``UsageError`` if neither the user nor the table has a price; a cap on money cannot be kept then."""
        if self.cost(Usage(1, 0 if self._embedding else 1)) is None:
            remedy = "leave max_usd out, or use a model with a known price"
            if not self._embedding:
                remedy = "state the prices in the configuration"
            raise UsageError(
                f"max_usd is set, but the price of {self._model!r} at {self._server} is not known: {remedy}"
            )

    def cost(self, usage: Usage) -> float | None:
        """Return the price of these tokens in US dollars, None where the model's price is not known."""
        full = self._full(usage)
        return None if full is None else full * self._share

    def at_most(self, input_tokens: int, output_tokens: int) -> Usage:
        """Return the most that a call may cost which reads and writes at most these tokens."""
        most = Usage(input_tokens, output_tokens, estimated=True)
        return replace(most, usd=self.cost(most))

    def charge(self, reported: Usage, most: Usage) -> Usage:
        """Return what a call is charged: what the server reports, and the most it may have cost for what it does not.

        Args:
            reported: The usage in the reply, zeros where it holds none.
            most: The most that the call may cost.
        """
        cost = Usage(
            reported.input_tokens or most.input_tokens,
            reported.output_tokens or most.output_tokens,
            reported.cached_tokens,
            estimated=not reported.input_tokens or (not reported.output_tokens and most.output_tokens > 0),
        )
        return replace(cost, usd=self.cost(cost))

    def _full(self, usage: Usage) -> float | None:
        if self._own is not None:
            if self._embedding:  # the user states the prices of the chat model alone
                return None
            read, written = self._own
            return (usage.input_tokens * read + usage.output_tokens * written) / 1e6
        if not self._in_table:
            return None
        import genai_prices

        tokens = genai_prices.Usage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=min(usage.cached_tokens, usage.input_tokens),
        )
        try:
            return float(genai_prices.calc_price(tokens, self._model, provider_api_url=self._url).total_price)
        except LookupError:
            self._in_table = False
            return None


class Accounts:
    """What was spent, by stage."""

    def __init__(self) -> None:
        self._rows: defaultdict[str, StageUsage] = defaultdict(StageUsage)

    def book(self, stage: str, *, requests: int = 0, replayed: int = 0, usage: Usage | None = None) -> None:
        """Add to the account of a stage.

        Args:
            stage: The stage.
            requests: The requests that were sent.
            replayed: The answers that came from the store.
            usage: The tokens and the money that were spent.
        """
        row = self._rows[stage]
        spent = usage or Usage()
        self._rows[stage] = StageUsage(
            requests=row.requests + requests,
            replayed=row.replayed + replayed,
            input_tokens=row.input_tokens + spent.input_tokens,
            output_tokens=row.output_tokens + spent.output_tokens,
            usd=row.usd if spent.usd is None else (row.usd or 0.0) + spent.usd,
            estimated_requests=row.estimated_requests + spent.estimated,
            estimated_usd=row.estimated_usd + ((spent.usd or 0.0) if spent.estimated else 0.0),
        )

    def report(self) -> dict[str, StageUsage]:
        """Return the accounts, by stage."""
        return {stage: self._rows[stage] for stage in sorted(self._rows)}


def added(first: StageUsage, second: StageUsage) -> StageUsage:
    """Return the sum of two accounts; its price is known if each price is known or that account sent no request."""
    known = all(account.usd is not None or not account.requests for account in (first, second))
    return StageUsage(
        requests=first.requests + second.requests,
        replayed=first.replayed + second.replayed,
        input_tokens=first.input_tokens + second.input_tokens,
        output_tokens=first.output_tokens + second.output_tokens,
        usd=(first.usd or 0.0) + (second.usd or 0.0) if known else None,
        estimated_requests=first.estimated_requests + second.estimated_requests,
        estimated_usd=first.estimated_usd + second.estimated_usd,
    )


def check_price(settings: ModelSettings) -> None:
    """Check that a cap on money can be kept; this needs no server and no store.

    Raises:
        UsageError: There is a cap on money, and the price of a model is not known.
    """
    if settings.max_usd is None:
        return
    PriceList(settings).require()
    if settings.embedding is not None:
        PriceList(settings, model=settings.embedding, embedding=True).require()

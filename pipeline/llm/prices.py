"""What tokens cost, by the user's prices or the table of ``genai-prices``, and what was spent."""

from __future__ import annotations

from collections import defaultdict

from goldbench.pipeline.errors import UsageError
from goldbench.pipeline.llm.budget import Reservation
from goldbench.pipeline.llm.server_settings import ModelSettings
from goldbench.pipeline.ports import Usage
from goldbench.schemas.manifest import StageUsage

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
        self._share, self._embedding = share, embedding
        self._own, self._capped = settings.prices, settings.max_usd is not None
        self._model, self._url = model or settings.name, settings.base_url

    @property
    def known(self) -> bool:
        """Whether the user or the table has a price; the table is loaded when it is first asked."""
        return self.cost(Usage(1, 0 if self._embedding else 1)) is not None

    def cost(self, usage: Usage) -> float | None:
        """Return the price of these tokens in US dollars, None where the model's price is not known."""
        full = self._full(usage)
        return None if full is None else full * self._share

    def reservation(self, input_tokens: int, output_tokens: int) -> Reservation:
        """Return what a call may cost at most; the money is worked out only where a cap needs it."""
        usd = self.cost(Usage(input_tokens, output_tokens)) if self._capped else None
        return Reservation(input_tokens + output_tokens, usd or 0.0)

    def _full(self, usage: Usage) -> float | None:
        if self._own is not None:
            if self._embedding:  # the user states the prices of the chat model alone
                return None
            return (usage.input_tokens * self._own.input + usage.output_tokens * self._own.output) / 1e6
        import genai_prices

        tokens = genai_prices.Usage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=min(usage.cached_tokens, usage.input_tokens),
        )
        try:
            return float(genai_prices.calc_price(tokens, self._model, provider_api_url=self._url).total_price)
        except LookupError:
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
        row, spent = self._rows[stage], usage or Usage()
        self._rows[stage] = StageUsage(
            requests=row.requests + requests,
            replayed=row.replayed + replayed,
            input_tokens=row.input_tokens + spent.input_tokens,
            output_tokens=row.output_tokens + spent.output_tokens,
            usd=row.usd if spent.usd is None else (row.usd or 0.0) + spent.usd,
        )

    def report(self) -> dict[str, StageUsage]:
        """Return the accounts, by stage."""
        return {stage: self._rows[stage] for stage in sorted(self._rows)}


def added(one: StageUsage, other: StageUsage) -> StageUsage:
    """Return the sum of two accounts; its price is known if each price is known or that account sent no request."""
    known = all(account.usd is not None or not account.requests for account in (one, other))
    return StageUsage(
        requests=one.requests + other.requests,
        replayed=one.replayed + other.replayed,
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        usd=(one.usd or 0.0) + (other.usd or 0.0) if known else None,
    )


def check_price(settings: ModelSettings) -> None:
    """Check that a cap on money can be kept; this needs no server and no store.

    Raises:
        UsageError: There is a cap on money, and the price of a model is not known.
    """
    if settings.max_usd is None:
        return
    models = [PriceList(settings)]
    if settings.embedding is not None:
        models.append(PriceList(settings, model=settings.embedding, embedding=True))
    if not all(model.known for model in models):
        raise UsageError(
            f"max_usd is set, but the price of {settings.name!r} at {settings.shown_url()} is not known: "
            "state the prices in the configuration"
        )

"""What tokens cost: the user's prices, else the table of ``genai-prices``, else unknown and said so."""

from __future__ import annotations

from pipeline.errors import UsageError
from pipeline.llm.server_settings import ModelSettings
from pipeline.ports import Usage


class PriceList:
    """The prices of one server. ``known`` tells whether this model has one; nothing is ever fetched."""

    def __init__(
        self, settings: ModelSettings, *, model: str | None = None, embedding: bool = False, share: float = 1.0
    ) -> None:
        """Take whose prices; ``share`` is what is paid of them: a half in a provider's batches."""
        self._share = share
        self._own, self._embedding = settings.prices, embedding
        self._model, self._url = model or settings.name, settings.base_url
        self.known = self.cost(Usage(1, 0 if embedding else 1)) is not None

    def cost(self, usage: Usage) -> float | None:
        """Return the price of these tokens in US dollars, None where the model's price is not known."""
        full = self._full(usage)
        return None if full is None else full * self._share

    def _full(self, usage: Usage) -> float | None:
        if self._own is not None:
            if self._embedding:  # the user states the prices of the chat model alone
                return None
            return (usage.input_tokens * self._own.input + usage.output_tokens * self._own.output) / 1e6
        import genai_prices

        spent = genai_prices.Usage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=min(usage.cached_tokens, usage.input_tokens),
        )
        try:
            return float(genai_prices.calc_price(spent, self._model, provider_api_url=self._url).total_price)
        except LookupError:
            return None


def price_known(settings: ModelSettings) -> bool:
    """Return whether every model that may be called has a price."""
    embedding = settings.embedding
    return PriceList(settings).known and (
        embedding is None or PriceList(settings, model=embedding, embedding=True).known
    )


def check_price(settings: ModelSettings) -> None:
    """Check that a cap on money can be kept; it needs no server and no store, so it can be asked first of all.

    Raises:
        UsageError: there is such a cap, and the price of a model is not known.
    """
    if settings.max_usd is not None and not price_known(settings):
        raise UsageError(
            f"max_usd is set, but the price of {settings.name!r} at {settings.shown_url()} is not known: "
            "state the prices in the configuration"
        )

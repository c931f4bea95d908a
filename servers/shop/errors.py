"""ShopError: the one error of the shop's own rooms, mapped to an HTTP answer in api.py and to a tool error in client.py.

ShopError            code, HTTP status, and words that say what to do next
├── not found   404  no_such_ticket, no_such_order, no_such_quote, no_such_refund, no_such_product
├── conflict    409  quote_used, key_used, already_refunded, not_held
└── refused     422  no_customer, not_refundable, unreadable
"""


class ShopError(Exception):
    """Something asked of the shop cannot be done."""

    def __init__(self, status: int, code: str, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.code = code
        self.words = words

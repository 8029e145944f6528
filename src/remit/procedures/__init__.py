"""What a backend offers: catalogues of operations, and functions the application already owns (SPEC 10)."""

from remit.procedures.catalogue import BackendOperation, Catalogue, Offer
from remit.procedures.errors import BackendError
from remit.procedures.functions import Procedures

__all__ = ["BackendError", "BackendOperation", "Catalogue", "Offer", "Procedures"]

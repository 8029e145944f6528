"""An order desk: server-rendered pages, sixty orders, two people who each reach a part of them."""

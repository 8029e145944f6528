"""The surface: joins the rooms, decides nothing."""

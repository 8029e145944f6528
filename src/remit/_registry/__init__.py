"""What is live now: registrations, who may see them, and what a listing holds."""

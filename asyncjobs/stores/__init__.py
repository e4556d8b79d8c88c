"""Where jobs live: one contract (`base`), three stores."""

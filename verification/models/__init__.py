"""Small DeepSeek models: configurations, seeded weights and a tokenizer, made here."""

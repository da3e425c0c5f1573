"""What an expression is under the facts: scopes, names, predicates and constants."""

"""The checks: each asks probes about both trees and compares what they say."""

"""Forecasts of manifests against a real control plane."""

"""Tests of the whole project: settings, environment, logs, docs, test run, and one file per kind."""

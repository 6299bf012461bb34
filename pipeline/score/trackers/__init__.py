"""Where scores are kept over time: MLflow, Weights & Biases and Langfuse, each through its own client."""

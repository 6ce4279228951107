"""Language models of the user's: sentence encoders and cross-encoders, as ONNX files."""

"""What is known of text in any language: scripts, words, sentences, stems, language."""

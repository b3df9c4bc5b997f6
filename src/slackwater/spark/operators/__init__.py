"""One operator a stage: column roles in, the stage's kernel carried by the runner, rows out."""

"""What is known of a compile before it is compared with another one: compile → facts."""

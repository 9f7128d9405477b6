"""Whether the graph of an earlier entry would serve a later call, once what separates the two is marked dynamic."""

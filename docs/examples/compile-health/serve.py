"""Serves a few requests, as a smoke test of what production sends: batches and lengths of all kinds."""

import torch

from model import Classifier, confidence

REQUESTS = ((16, 32), (7, 32), (3, 48), (12, 20), (9, 64))


def main() -> None:
    torch.manual_seed(0)
    model = torch.compile(Classifier().eval())
    sure = torch.compile(confidence)
    with torch.inference_mode():
        for batch, length in REQUESTS:
            logits = model(torch.randint(1000, (batch, length)))
            print(f"{batch} texts of {length} tokens, the first with confidence {sure(logits[0]):.2f}")


if __name__ == "__main__":
    main()

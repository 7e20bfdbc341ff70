"""Teaches the embedding model which function a sentence is about: writes cli/local/src/code.safetensors.

    teach.py PROGRAM                              the program is the example `search_quality`

The model stays as it is; what is learnt are thin matrices whose product is added to each of its own (LoRA). An example is a
sentence of documentation of one of the repositories of "teach" (repositories.json), none of which is measured. What has to come
nearest to it is its function among those of other examples, and, with the words' score, its file among those that
words find. Takes an hour and a half on two cores. Equal input gives equal weights, but for rounding: PyTorch adds in an order
that depends on the machine.
"""

import json
import math
import random
import sys
import time

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import BertWordPieceTokenizer

import examples_of
import measure
import sources

RESULT = sources.HERE / "../../../cli/local/src/code.safetensors"
VOCABULARY = sources.HERE / "../../../cli/local/src/wordpieces.txt"

WIDTH, HEADS, LAYERS = 384, 12, 6
MATRICES = [(f"attention.self.{name}", WIDTH, WIDTH) for name in ("query", "key", "value")] + [
    ("attention.output.dense", WIDTH, WIDTH),
    ("intermediate.dense", WIDTH, 4 * WIDTH),
    ("output.dense", 4 * WIDTH, WIDTH),
]
RANK = 16
# What the product of two thin matrices is multiplied by.
SCALE = 2.0
TOKENS = 64
# The declarations are shorter.
FEW_TOKENS = 48
BATCH = 16
RATE = 3e-4
WARM_UP = 40
# By what nearness is multiplied before it counts as a chance.
SHARPNESS = 20
# Examples of a language: others have fewer.
MOST = {"rs": 3500, "java": 1800}
# The tensor by which the program tells the model.
TOLD_BY = "embeddings.LayerNorm.weight"


def all_examples(program, chance):
    folder = sources.DATA / "teaching"
    folder.mkdir(parents=True, exist_ok=True)
    files = {folder / f"{repository['name'].replace('/', '_')}.jsonl": repository for repository in sources.repositories("teach")}
    found = []
    for file, repository in sorted(files.items()):
        if not file.exists():
            lines = "".join(json.dumps(example) + "\n" for example in examples_of.of(repository, program))
            file.write_text(lines)
        found += [json.loads(line) for line in file.read_text().strip().split("\n") if line]
    chance.shuffle(found)
    taken, counts = [], {}
    for example in found:
        language = example["language"]
        counts[language] = counts.get(language, 0) + 1
        if counts[language] <= MOST.get(language, len(found)) and len(example["wrong"]) >= 3:
            taken.append(example)
    return taken


class Model:
    """The model as it was published, and the thin matrices beside it."""

    def __init__(self):
        self.weights = {name: tensor.float() for name, tensor in load_file(measure.model()).items() if tensor.is_floating_point()}
      
        self.tokenizer = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
        chance = torch.Generator().manual_seed(0)
        self.thin = {}
        for layer in range(LAYERS):
            for name, width, to in MATRICES:
                name = f"encoder.layer.{layer}.{name}"
                self.thin[f"{name}.down"] = (torch.randn(width, RANK, generator=chance) / width**0.5).requires_grad_()
                # At first nothing is changed.
                self.thin[f"{name}.up"] = torch.zeros(RANK, to).requires_grad_()

    def ids(self, texts, most):
        rows = []
        for text in texts:
            row = self.tokenizer.encode(text).ids
            rows.append(row if len(row) <= most else row[: most - 1] + row[-1:])
        ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = torch.tensor(row)
        return ids

    def vectors(self, texts, most):
        """Texts × WIDTH, each of length 1, as `Encoder` computes them."""
        ids = self.ids(texts, most)
        count, tokens = ids.shape
        there = ids > 0
        weights = self.weights

        def norm(x, name):
            return F.layer_norm(x, (WIDTH,), weights[f"{name}.weight"], weights[f"{name}.bias"], 1e-12)

        def linear(x, name):
            x = x.reshape(count * tokens, -1)
            learnt = (x @ self.thin[f"{name}.down"]) @ (self.thin[f"{name}.up"] * SCALE)
            return (F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"]) + learnt).view(count, tokens, -1)

        def heads(x):
            return x.view(count, tokens, HEADS, WIDTH // HEADS).transpose(1, 2)

        x = weights["embeddings.word_embeddings.weight"][ids] + weights["embeddings.position_embeddings.weight"][:tokens]
        x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        unseen = torch.zeros(count, 1, 1, tokens).masked_fill(~there[:, None, None, :], -1e9)
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}"
            query, key, value = (heads(linear(x, f"{name}.attention.self.{part}")) for part in ("query", "key", "value"))
            seen = torch.softmax(query @ key.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5 + unseen, -1) @ value
            seen = seen.transpose(1, 2).reshape(count, tokens, WIDTH)
            x = norm(x + linear(seen, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm")
            inner = F.gelu(linear(x, f"{name}.intermediate.dense"))
            x = norm(x + linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
        there = there[..., None].float()
        return F.normalize((x * there).sum(1) / there.sum(1), dim=-1)

    def save(self, file):
        # The scale is in the second matrix: the program knows of none.
        tensors = {name: tensor.detach() * (SCALE if name.endswith(".up") else 1) for name, tensor in self.thin.items()}
        tensors = {name: tensor.half().contiguous() for name, tensor in tensors.items()}
        save_file({**tensors, TOLD_BY: self.weights[TOLD_BY]}, file)


class Batch:
    """The texts of some examples, and where in them what belongs to each stands."""

    def __init__(self, examples, chance):
        self.questions = [example["question"] for example in examples]
        self.long, self.short, self.own, self.beside, self.mixed = [], [], [], [], []
        declarations = []
        for example in examples:
            own = [self.add(self.long, example["function"])]
            # The passage that has the function, or at least one of its file.
            right = [it for it in example["right"] if it[2]][:1] or example["right"][:1]
            wrong = example["wrong"][:2] + chance.sample(example["wrong"][2:], min(2, len(example["wrong"]) - 2))
            mixed = [(self.add(self.long, gist), score, True) for gist, score, _ in right]
            has_function = bool(right) and right[0][2]
            own += [mixed[0][0]] if has_function else []
            self.beside.append([mixed[0][0]] if right and not has_function else [])
            mixed += [(self.add(self.long, gist), score, False) for gist, score in wrong]
            self.mixed.append(mixed if right else [])
            self.own.append(own)
            declarations.append(self.add(self.short, example["declaration"]))
            if example["wrong_declarations"]:
                self.add(self.short, chance.choice(example["wrong_declarations"][:4]))
        for own, declaration in zip(self.own, declarations):
            own.append(len(self.long) + declaration)

    @staticmethod
    def add(texts, text):
        texts.append(text)
        return len(texts) - 1

    def loss(self, model, sharpness, share):
        """How far the functions are from being nearest, and the files from being first when words count, too."""
        asked = model.vectors(self.questions, TOKENS)
        texts = torch.cat([model.vectors(self.long, TOKENS), model.vectors(self.short, FEW_TOKENS)])
        nearness = asked @ texts.T
        of_functions, of_files = [], []
        for near, own, beside, mixed in zip(nearness, self.own, self.beside, self.mixed):
            near_enough = near * SHARPNESS
            # What belongs to the example does not speak against itself.
            left_out = torch.zeros(len(texts))
            left_out[own + beside] = -1e9
            others = torch.logsumexp(near_enough + left_out, 0)
            of_functions.append(sum(torch.logaddexp(near_enough[it], others) - near_enough[it] for it in own) / len(own))
            if mixed:
                words = torch.tensor([math.log(max(score, 1e-3)) for _, score, _ in mixed])
                both = sharpness.exp() * (words + share * near[[it for it, _, _ in mixed]])
                right = [number for number, it in enumerate(mixed) if it[2]]
                of_files.append(torch.logsumexp(both, 0) - torch.logsumexp(both[right], 0))
        return sum(of_functions) / len(of_functions) + 0.5 * sum(of_files) / max(len(of_files), 1)


def main():
    torch.manual_seed(1)
    chance = random.Random(1)
    examples = all_examples(sys.argv[1], chance)
    model = Model()
    # How sharply words and embeddings decide together, and how much embeddings count: learnt, and not kept.
    sharpness, share = torch.tensor(math.log(10.0)).requires_grad_(), torch.tensor(1.0).requires_grad_()
    optimizer = torch.optim.AdamW(
        [
            {"params": list(model.thin.values()), "lr": RATE, "weight_decay": 0.01},
            {"params": [sharpness, share], "lr": 1e-2, "weight_decay": 0.0},
        ],
        betas=(0.9, 0.98),
    )
    steps = len(examples) // BATCH
    print(f"{len(examples)} examples, {steps} steps", flush=True)
    rate = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / WARM_UP) * max(0.02, 1 - step / steps))
    mean, start = None, time.time()
    for step in range(steps):
        loss = Batch(examples[step * BATCH : (step + 1) * BATCH], chance).loss(model, sharpness, share)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.thin.values()), 1.0)
        optimizer.step()
        rate.step()
        optimizer.zero_grad()
        mean = loss.item() if mean is None else 0.98 * mean + 0.02 * loss.item()
        if step % 20 == 0:
            print(f"step {step}: loss {mean:.3f}, {time.time() - start:.0f} s", flush=True)
    model.save(RESULT)


if __name__ == "__main__":
    main()

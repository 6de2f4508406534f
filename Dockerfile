# syntax=docker/dockerfile:1
# The image of the gateway and, with another command, of the simulator. Not built on the machine this
# was written on (no container engine there): the steps are those of `make setup`, which was.
FROM python:3.11-slim-bookworm AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends g++ make \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
# The address of PyTorch's CPU builds; without it the index may answer with the CUDA build.
ARG TORCH_INDEX=
# First what changes rarely: the libraries and the compiled quickfix stay in one layer.
COPY Makefile pyproject.toml README.md LICENSE ./
COPY requirements requirements
COPY scripts scripts
RUN make setup PYTHON=/usr/local/bin/python3.11 TORCH_INDEX="$TORCH_INDEX" \
 && rm -rf /root/.cache
COPY migrations migrations
COPY inference inference
COPY risk risk
COPY audit audit
COPY fix fix
COPY gateway gateway

FROM python:3.11-slim-bookworm
RUN useradd --create-home --uid 10001 countersign \
 && mkdir -p /state && chown countersign /state
COPY --from=build /app /app
WORKDIR /app
USER countersign
ENV PATH=/app/.venv/bin:$PATH \
    COUNTERSIGN_STATE=/state \
    HF_HUB_OFFLINE=1 \
    VLLM_NO_USAGE_STATS=1 \
    DO_NOT_TRACK=1
VOLUME /state
EXPOSE 8700
CMD ["countersign", "serve"]

"""A speech server for the tests, with real software behind the OpenAI protocol.

POST /v1/audio/transcriptions: opusdec and the Moonshine model. POST /v1/audio/speech: flite and opusenc.
Prints its port and serves until its standard input ends. tests/setup installs what it needs beside this file.
"""

import io
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import wave
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy
import onnxruntime
import tokenizers

HERE = os.path.dirname(os.path.abspath(__file__))
START, END, MOST_TOKENS, LAYERS, HEADS, WIDTH = 1, 2, 192, 6, 8, 36


class Moonshine:
    """Moonshine tiny: an encoder, and a decoder with a cache, as its own package runs them."""

    def __init__(self):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        model = lambda name: onnxruntime.InferenceSession(f"{HERE}/model/{name}.onnx", options)
        self.encoder, self.decoder = model("encoder_model"), model("decoder_model_merged")
        self.tokenizer = tokenizers.Tokenizer.from_file(f"{HERE}/model/tokenizer.json")
        self.lock = threading.Lock()

    def hear(self, samples):
        with self.lock:
            hidden = self.encoder.run(None, {"input_values": samples[None, :]})[0]
            cache = {
                f"past_key_values.{layer}.{part}.{kind}": numpy.zeros((0, HEADS, 1, WIDTH), numpy.float32)
                for layer in range(LAYERS)
                for part in ("decoder", "encoder")
                for kind in ("key", "value")
            }
            tokens = [START]
            for step in range(MOST_TOKENS):
                inputs = {"input_ids": [[tokens[-1]]], "encoder_hidden_states": hidden, "use_cache_branch": [step > 0]}
                logits, *present = self.decoder.run(None, inputs | cache)
                tokens.append(int(logits[0, -1].argmax()))
                if tokens[-1] == END:
                    break
                for name, value in zip(cache, present):
                    if step == 0 or "decoder" in name:
                        cache[name] = value
            return self.tokenizer.decode(tokens).strip()


def samples_of(audio):
    """The samples of WAV or Ogg/Opus at 16 kHz; nothing for another format."""
    if audio[:4] == b"OggS":
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/in.ogg", "wb") as file:
                file.write(audio)
            subprocess.run(["opusdec", "--quiet", "--rate", "16000", "in.ogg", "out.wav"], cwd=folder, check=True)
            with open(f"{folder}/out.wav", "rb") as file:
                audio = file.read()
    if audio[:4] != b"RIFF":
        return None
    with wave.open(io.BytesIO(audio)) as file:
        if file.getframerate() != 16000 or file.getsampwidth() != 2:
            return None
        samples = numpy.frombuffer(file.readframes(file.getnframes()), numpy.int16)
        samples = samples.reshape(-1, file.getnchannels()).mean(axis=1)
    return (samples / 32768).astype(numpy.float32)


def speech(text, form):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["flite", "-voice", "rms", "-t", text, "-o", "a.wav"], cwd=folder, check=True)
        if form == "opus":
            subprocess.run(["opusenc", "--quiet", "--bitrate", "24", "a.wav", "a.opus"], cwd=folder, check=True)
        with open(f"{folder}/a.{form}", "rb") as file:
            return file.read()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="application/json"):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, text):
        self.answer(400, {"error": {"message": text, "type": "invalid_request_error"}})

    def body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers["Content-Length"]))
        whole = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def do_POST(self):
        body = self.body()
        if self.path == "/v1/audio/speech":
            asked = json.loads(body)
            if not asked.get("model") or not asked.get("input"):
                return self.refuse("model and input are required")
            if asked.get("response_format", "mp3") not in ("opus", "wav"):
                return self.refuse("unsupported response_format")
            return self.answer(200, speech(asked["input"], asked["response_format"]), "audio/" + asked["response_format"])
        if self.path != "/v1/audio/transcriptions":
            return self.answer(404, {"error": {"message": "not found"}})
        head = b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n"
        parts = {part.get_param("name", header="content-disposition"): part for part in BytesParser(policy=HTTP).parsebytes(head + body).iter_parts()}
        if "file" not in parts or "model" not in parts:
            return self.refuse("file and model are required")
        if not re.search(r"\.(ogg|wav)$", parts["file"].get_filename() or ""):
            return self.refuse("Invalid file format")
        samples = samples_of(parts["file"].get_payload(decode=True))
        if samples is None:
            return self.refuse("Invalid file format")
        self.answer(200, {"text": MODEL.hear(samples)})


MODEL = Moonshine()
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()

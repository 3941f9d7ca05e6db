"""A NATS server and a Kafka mock cluster for tests, and streams of rows in them."""

import asyncio
import json
import multiprocessing
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import nats
import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition

from killable import started


def made_up_rows(n, seed=0):
    """Return rows with numbers, a category, gaps, and now and then no label, as JSON."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        a, b = rng.normal(size=2).round(4).tolist()
        town = f"t{rng.integers(5)}"
        row = {"a": a, "b": b, "town": town, "y": "yes" if a * b + (town == "t1") > 0 else "no"}
        if i % 11 == 3:
            del row["b"]
        if i % 17 == 5:
            row["y"] = None
        rows.append(json.dumps(row))
    return rows


class Nats:
    """A NATS server with JetStream, which can be stopped and started again."""

    kind = "nats"

    def __init__(self, folder, *options):
        self.folder, self.options = folder, options
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        self.host = f"127.0.0.1:{self.port}"
        self.start()

    def start(self):
        program = shutil.which("nats-server", path=str(Path(sys.executable).parent))
        command = [program, "-js", "-sd", str(self.folder), "-a", "127.0.0.1", "-p", str(self.port)]
        command += self.options
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30.0
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1.0).close()
                return
            except OSError:
                time.sleep(0.02)
        raise TimeoutError("the NATS server does not start")

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def url(self, name):
        return f"nats://{self.host}/{name}"

    def make(self, name, messages=(), **config):
        """Make a stream that takes what is published to the subjects NAME.*."""
        return self.run(_make(name, messages, config))

    def publish(self, name, messages, subject="rows"):
        self.run(_publish(f"{name}.{subject}", messages))

    def run(self, work):
        """Return what a function of a client returns."""

        async def connected():
            client = await nats.connect(f"nats://{self.host}")
            try:
                return await work(client)
            finally:
                await client.close()

        return asyncio.run(connected())

    def read(self, name):
        """Return (headers, data) of all messages of a stream."""

        async def work(client):
            manager = client.jetstream()
            last = (await manager.stream_info(name)).state.last_seq
            found = [await manager.get_msg(name, seq) for seq in range(1, last + 1)]
            return [(message.headers or {}, message.data) for message in found]

        return self.run(work)


def _make(name, messages, config):
    async def work(client):
        await client.jetstream().add_stream(name=name, subjects=[f"{name}.*"], **config)
        await _publish(f"{name}.rows", messages)(client)

    return work


def _publish(subject, messages):
    async def work(client):
        manager = client.jetstream()
        for message in messages:
            future = await manager.publish_async(subject, message.encode())
        if messages:
            await manager.publish_async_completed()
            future.result()

    return work


class Kafka:
    """The mock cluster that librdkafka has, in this process; topics have four partitions."""

    kind = "kafka"

    def __init__(self):
        self.producer = Producer({"test.mock.num.brokers": 1, "log_level": 0})
        (broker,) = self.producer.list_topics(timeout=10).brokers.values()
        self.host = f"{broker.host}:{broker.port}"
        self._time = 1_000

    def stop(self):
        self.producer.flush()

    def url(self, name):
        return f"kafka://{self.host}/{name}"

    def make(self, name, messages=()):
        self.publish(name, messages or ["{}"])

    def publish(self, name, messages, partitions=3):
        """Produce messages whose times grow, to changing partitions."""
        for message in messages:
            self._time += 1
            at = {"partition": self._time * 7 % 11 % partitions, "timestamp": self._time}
            self.producer.produce(name, message.encode(), **at)
        self.producer.flush()

    def read(self, name):
        """Return (key, data) of all messages of a topic."""
        reader = Consumer({"bootstrap.servers": self.host, "group.id": "test"})
        ends = {p: reader.get_watermark_offsets(TopicPartition(name, p), 10)[1] for p in range(4)}
        reader.assign([TopicPartition(name, p, 0) for p in ends])
        found = []
        while len(found) < sum(ends.values()):
            message = reader.poll(10.0)
            found.append((message.key().decode(), message.value()))
        reader.close()
        return found


def mock_cluster(topic, n):
    """Start a Kafka mock cluster in a process of its own, with n messages; return its address."""
    here, there = multiprocessing.Pipe()
    process = started(_cluster, there, topic, n)
    assert here.poll(60.0)
    return process, here.recv()


def _cluster(there, topic, n):
    cluster = Kafka()
    cluster.publish(topic, [str(i) for i in range(n)])
    there.send(cluster.host)
    signal.pause()

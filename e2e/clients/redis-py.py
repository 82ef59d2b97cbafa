"""redis-py as a client of a server on loopback. Each step prints one line of JSON; the test compares them.

Between two of its steps it waits for a line on standard input, so that the test can restart the server.
Usage: redis-py.py PORT [PASSWORD]
"""

import json
import sys

import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

PORT = int(sys.argv[1])
PASSWORD = sys.argv[2] if len(sys.argv) > 2 else None


def say(step, value):
    print(json.dumps({"step": step, "value": value}), flush=True)


def connect(**options):
    return redis.Redis(port=PORT, decode_responses=True, **options)


def refusal(client):
    try:
        client.sadd("refused", "x")
    except redis.RedisError as error:
        return type(error).__name__
    return None


def commands(client):
    say("ping", client.ping())
    say("sadd", client.sadd("plain", "a", "b", "c"))
    say("sismember", [client.sismember("plain", "a"), client.sismember("plain", "z")])
    say("smembers", sorted(client.smembers("plain")))
    say("smismember", client.smismember("plain", ["a", "z"]))
    say("sinter", sorted(client.sinter("plain", "plain")))
    say("spop", client.spop("nothing"))
    say("type", client.type("plain"))
    say("info", client.info("server")["redis_version"][:2])
    try:
        client.execute_command("SADD", "plain")
    except redis.ResponseError as error:
        say("error", str(error))


def batches(client):
    with client.pipeline(transaction=False) as pipe:
        for index in range(1000):
            pipe.sadd("piped", index)
        say("pipeline", sum(pipe.execute()))
    with client.pipeline() as pipe:
        say("multi", pipe.sadd("tx", "a", "b").srem("tx", "a").scard("tx").execute())
    with client.pipeline() as pipe:
        pipe.watch("tx")
        client.sadd("tx", "someone else")
        pipe.multi()
        pipe.sadd("tx", "mine")
        try:
            pipe.execute()
            say("watch", "executed")
        except redis.WatchError:
            say("watch", "touched")


def scans(client):
    client.sadd("scanned", *[f"member-{index}" for index in range(2000)])
    say("sscan", len(set(client.sscan_iter("scanned", count=100))))
    say("scan", sorted(client.scan_iter(match="scan*", _type="set")))


def restart(client):
    client.sadd("kept", "before")
    say("restart", "now")
    sys.stdin.readline()
    client.sadd("kept", "after")
    say("kept", sorted(client.smembers("kept")))


def main():
    errors = [redis.ConnectionError]
    client = connect(password=PASSWORD, retry=Retry(ConstantBackoff(0.05), 100), retry_on_error=errors)
    commands(client)
    batches(client)
    scans(client)
    if PASSWORD is not None:
        say("no password", refusal(connect()))
        say("wrong password", refusal(connect(password="open-barley")))
    restart(client)


main()

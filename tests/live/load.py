"""Requests for a real server, as many at once as it has clients, until they are enough."""
import socket
import threading
import time

SECONDS = 120  # then it ends by itself


def request(path):
    """One request at a unix socket; the whole answer."""
    answer = b''
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(30)
        s.connect(path)
        s.sendall(b'GET /cart HTTP/1.0\r\nHost: shop\r\n\r\n')
        while True:
            part = s.recv(65536)
            if not part:
                return answer
            answer += part


def answers(path):
    """Does a server answer there by now?"""
    try:
        return b' 200 ' in request(path)
    except OSError:
        return False


class Load:
    """`with Load(path):` keeps the server at a unix socket busy."""

    def __init__(self, path, clients=4):
        self.path = path
        self.over = threading.Event()
        self.clients = [threading.Thread(target=self.client) for _ in range(clients)]

    def client(self):
        end = time.time() + SECONDS
        while not self.over.is_set() and time.time() < end:
            try:
                request(self.path)
            except OSError:
                time.sleep(0.01)

    def __enter__(self):
        for thread in self.clients:
            thread.start()

    def __exit__(self, *_):
        self.over.set()
        for thread in self.clients:
            thread.join()

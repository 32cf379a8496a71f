"""Reports in a headless Chromium: they render, search and jump, and request nothing."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import torch
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

import anyshape
from anyshape.observe.report.page import write
from anyshape.observe.report.report_data import Place, ReportData
from tests.unit.observe.report.test_report import HOSTILE, Net, branching, hostile_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ARGUMENTS = """
    headless=new no-sandbox disable-gpu disable-quic no-first-run disable-background-networking
    disable-component-update disable-sync disable-dev-shm-usage window-size=1300,800
"""
MANY = 10_000


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    folder = tmp_path_factory.mktemp("chromium")
    for argument in [*ARGUMENTS.split(), f"user-data-dir={folder}"]:
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


class Shown:
    """A page that is open."""

    def __init__(self, driver: Any, path: Path) -> None:
        self.driver = driver
        self.path = path
        driver.get_log("browser")
        driver.get_log("performance")
        driver.get("about:blank")
        driver.get(path.as_uri())

    def tab(self, name: str) -> None:
        self.driver.find_element(By.CSS_SELECTOR, f"nav a[data-tab={name}]").click()
        current = f"nav a[data-tab={name}][aria-current]"
        self.wait(lambda: self.driver.find_elements(By.CSS_SELECTOR, current))

    def wait(self, holds: Callable[[], Any]) -> None:
        WebDriverWait(self.driver, 20).until(lambda _: holds())

    @property
    def text(self) -> str:
        script = "return document.querySelector('main').innerText.toWellFormed()"
        return str(self.driver.execute_script(script))

    @property
    def status(self) -> str:
        return str(self.driver.find_element(By.CSS_SELECTOR, "[role=status]").text)

    def search(self, words: str) -> None:
        field = self.driver.find_element(By.CSS_SELECTOR, "input[type=search]")
        field.clear()
        field.send_keys(words)

    def need_quiet(self) -> None:
        """No error was logged, and nothing but the page itself was requested."""
        assert [e for e in self.driver.get_log("browser") if e["level"] == "SEVERE"] == []
        asked = set()
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                asked.add(message["params"]["request"]["url"].partition("#")[0])
        own = ("about:", "chrome:", "chrome-untrusted:", "data:")  # of the browser's first tab
        outside = [url for url in asked if not url.startswith(own)]
        assert outside == [self.path.as_uri()]


@pytest.fixture(scope="module")
def program() -> Any:
    return anyshape.export(Net(), (torch.ones(3, 4),), dynamic_shapes=({0: "rows"},))


def test_an_exported_program(browser: Any, program: Any, tmp_path: Path) -> None:
    program.report(tmp_path / "a.html")
    shown = Shown(browser, tmp_path / "a.html")
    assert "x: float32[rows, 4]" in shown.text
    shown.tab("symbols")
    assert "rows" in shown.text
    shown.tab("conditions")
    total = shown.status.rpartition(" ")[2]
    shown.search("guard rows <= 5")
    shown.wait(lambda: not shown.status.startswith(total))
    assert "rows <= 5" in shown.text
    assert "assert" not in shown.text
    browser.find_element(By.CSS_SELECTOR, "a.place").click()
    shown.wait(lambda: browser.find_elements(By.CSS_SELECTOR, ".row.found"))
    assert "if y.size(0) > 5:" in browser.find_element(By.CSS_SELECTOR, ".row.found").text
    shown.tab("graph")
    assert "inner: Linear" in shown.text
    before = shown.text
    browser.find_element(By.XPATH, "//button[text()='Collapse all']").click()
    shown.wait(lambda: "linear(" not in shown.text)
    browser.find_element(By.XPATH, "//button[text()='Expand all']").click()
    shown.wait(lambda: shown.text == before)
    shown.search("linear")
    shown.wait(lambda: shown.status.startswith("1 of"))
    shown.need_quiet()


def test_a_compiled_function(browser: Any, tmp_path: Path) -> None:
    compiled = anyshape.compile(branching)
    for n in (3, 4):
        compiled(torch.ones(n), 2)
    compiled.report(tmp_path / "a.html")
    shown = Shown(browser, tmp_path / "a.html")
    shown.tab("events")
    assert "x.size(0) changed from 3 to 4" in shown.text
    assert "mark_dynamic(x, 0)" in shown.text
    shown.need_quiet()


def test_hostile_names_are_text(browser: Any, tmp_path: Path) -> None:
    write(hostile_report(), tmp_path / "a.html")
    shown = Shown(browser, tmp_path / "a.html")
    tabs = [a.get_attribute("data-tab") for a in browser.find_elements(By.CSS_SELECTOR, "nav a")]
    assert len(tabs) == 8
    for name in tabs:
        shown.tab(name)
        assert HOSTILE[:30] in shown.text, name
    assert browser.find_elements(By.TAG_NAME, "img") == []
    assert len(browser.find_elements(By.TAG_NAME, "script")) == 2
    shown.need_quiet()


def test_ten_thousand_symbols(browser: Any, tmp_path: Path) -> None:
    report = hostile_report()
    row = report.programs[0]["symbols"][0]
    report.programs[0]["symbols"] = [row | {"name": f"u{i}", "label": f"u{i}"} for i in range(MANY)]
    node = report.programs[0]["graphs"][0]["nodes"][0]
    nodes = [[*node[:2], f"v{i} = relu(v{i - 1})", *node[3:]] for i in range(MANY)]
    report.programs[0]["graphs"][0]["nodes"] = nodes
    for i in range(MANY):
        report.condition("assert", f"u{i} >= 0", program=0)
    write(report, tmp_path / "a.html")
    shown = Shown(browser, tmp_path / "a.html")
    for name in ("symbols", "conditions", "graph"):
        shown.tab(name)
        assert len(browser.find_elements(By.CSS_SELECTOR, ".row")) < 200
        shown.search("9999" if name != "graph" else "v9999 =")
        shown.wait(lambda: shown.status.startswith("1 of 10,00"))
        assert "9999" in shown.text
    shown.need_quiet()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(browser: Any, program: Any, scheme: str, tmp_path: Path) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    program.report(tmp_path / "a.html")
    Shown(browser, tmp_path / "a.html")
    style = "return getComputedStyle(document.body).backgroundColor"
    red = int(browser.execute_script(style).partition("(")[2].partition(",")[0])
    assert (red > 200) == (scheme == "light")


def test_the_source_opens_at_the_file_with_most_to_tell(browser: Any, tmp_path: Path) -> None:
    report = ReportData("program", "program")
    report.condition("guard", "1 <= a", Place("a_quiet.py", 1, "f", "if a:"))
    for line in (1, 2):
        report.condition("guard", "1 <= n", Place("full.py", line, "f", "if n:"))
    write(report, tmp_path / "page.html")
    shown = Shown(browser, tmp_path / "page.html")
    shown.tab("source")
    assert shown.text.count("guard: 1 <= n") == 2

"""Words that may name somebody: a pseudonym of their own, and the person's when he is known."""

from pathlib import Path

from audit.privacy.vault import FILE_BYTES, Vault


def test_words_have_one_pseudonym_and_name_nobody(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    limit, desk = vault.subject_of_words("LIMIT"), vault.subject_of_words("desk of Jane Roe, 4")
    assert limit == vault.subject_of_words(" LIMIT") != desk
    assert vault.named_in("no more than the limit") is None, "no text is personal because of it"
    assert vault.find("LIMIT") is None
    person = vault.subject("Jane Roe")
    assert vault.named_in("ask jane roe") == person
    again = Vault(tmp_path / "vault")
    assert again.named_in("no more than the limit") is None
    assert again.subject_of_words("LIMIT") == limit
    assert again.find_all("Jane Roe") == (desk, person), "the name in use is the last"
    assert again.find_all("Anne Ro") == again.find_all("Desk of Jane R") == ()


def test_words_are_forgotten_as_a_name_is(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    said = vault.subject_of_words("Jane Roe")
    assert vault.find_all("jane roe") == (said,), "with nobody of that name known"
    vault.retire(said)
    assert vault.named_in("ask Jane Roe") is None
    other = vault.subject_of_words("Jane Roe")
    assert other != said, "said again, it is somebody else's"
    vault.restore(said)
    assert vault.destroy(said)
    assert vault.find_all("jane roe") == (other,)
    assert vault.subject_of_words("Jane Roe") == other
    assert [path.stem for path in (tmp_path / "vault").iterdir()] == [other]


def test_long_words_are_kept_by_their_beginning(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    text = "ü" * 5_000
    assert vault.subject_of_words(text) == vault.subject_of_words(text + "!")
    (path,) = (tmp_path / "vault").iterdir()
    assert path.stat().st_size > FILE_BYTES
    assert Vault(tmp_path / "vault").destroy(path.stem)
    assert not [*(tmp_path / "vault").iterdir()]

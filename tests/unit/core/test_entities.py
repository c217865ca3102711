"""What patterns find in free text, and what they leave: a line each, with what is found between brackets."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from sfumato.core.entities import KINDS, entities_in

FOUND = """
url: see [https://example.org/a?b=c&d=%20e] for more
url: see ([HTTPS://EXAMPLE.ORG/x]), thanks
url: [www.example.org], or [WWW.Example.de/path/to?x=1].
url: from [ftp://files.example.org/ada.csv]
email: write to [ada.lovelace+notes@mail.cs.example.org], please
email: [müller@bücher.de] and [mu\u0308ller@bu\u0308cher.de]
email: mailto:[ada@example.org]; <[bo@example.org]>
email: [bounce+ada=example.org@lists.example.com]
email: ["ada l"@example.org] and [ada@[10.0.0.1]]
email: [ada (at) example (dot) org] or [bo[at]example.org]
email: reach me: [ada at mail dot example dot org]
email: [anna@192.168.1.1] and [anna@10.0.0.1], thanks
email: [ada＠example.org]
iban: IBAN [DE89 3704 0044 0532 0130 00]!
iban: paid from [de89370400440532013000] to [GB82-WEST-1234-5698-7654-32]
iban: [BE68 5390 0754 7034] PAID IN FULL
iban: paid to IBAN[DE89370400440532013000]
iban: _[DE89370400440532013000]_
iban: IBAN[DE89370400440532013000], _[DE89370400440532013000]_, [DE89370400440532013000]EUR
iban: room DE12 [DE89 3704 0044 0532 0130 00]
iban: [NO93 8601 1117 947], [MT84 MALT 0110 0001 2345 MTLC AST0 01S]
iban: [DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000]
card: card [4111 1111 1111 1111] or [4111-1111-1111-1111]
card: [4111.1111.1111.1111], [4111/1111/1111/1111]
card: bed 12 [4111 1111 1111 1111] 7 days
card: [41-11-11-11-11-11-11-11]
card: [3782 822463 10005] and [378282246310005]
card: [4111_1111_1111_1111], ref_[4111111111111111]_x
card: [5555\u20115555\u20115555\u20114444]
uuid: id [123e4567-e89b-12d3-a456-426614174000]
us_ssn: number [219-09-9999], ssn [219 09 9999]
us_ssn: Social Security number: [219099999]
us_ssn: SSN: # [123456789]
national_id: NIR [1 84 12 76 451 089 46]
national_id: DNI [12345678Z], NIE [X1234567L]
national_id: cf [RSSMRA85T10A562S] or [rssmra85t10a562s]
national_id: NI [AB 12 34 56 C] and [AB123456C]
national_id: PESEL [44051401359]
national_id: Steuer-ID [86 095 742 719]
national_id: BSN: [111222333], bsn-nummer [111222333]
national_id: NI [ab123456c]
mac: [00:1A:2b:3c:4d:5e] and [00-1A-2B-3C-4D-5E] and [001a.2b3c.4d5e]
ip: from [10.0.0.1], ip:[10.0.0.2] and [192.168.1.1]:8080
ip: [2001:db8::1] and [2001:0db8:85a3:0000:0000:8a2e:0370:7334]
ip: [::ffff:192.0.2.1], [fe80::1%eth0], \\[[2001:db8::2]\\]:443, [::1]
date: born [1984-05-17], seen [3.12.2020] and [3/12/20]
date: [2020-01-03T10:00] and [2020-01-03 10:00:15.25Z] and [20200103T1000Z]
date: [2020-01-03T10:00:00+01:00]; [2020/01/03]; [2020.1.3]
date: on [3 January 2020], [Jan 3rd, 2020], [January 3, 2020 at 10:30 am]
date: am [3. März 2020], am [3. Januar] und im [Februar 2019]
date: le [3 mars 2020], le [1er janvier 2019 à 10h30], en [août 2020]
date: el [3 de enero de 2020], el [3 de mayo]
date: il [3 gennaio 2020], [dicembre 1999]
date: [03-Jan-2020], [3/Feb/20], [03JAN2020]
date: [3rd of May], [May 3rd], [5 April]
date: [12-14 March 2020] and [3 bis 5 Juni 2020]
date: [3.12.2020 um 10:30 Uhr], [3. 12. 2020]
date: [17/05/1984], [05/17/1984], [17-05-1984]
date: [١٧/٠٥/١٩٨٤]
date: from [3.1.2020]-[9.1.2020] and [12.03.2019]–[15.03.2019]
date: [31.01.2020]-[02.02.2020], [31/01/2020]-[02/02/2020], [3.1.20]-[9.1.20]
date: [2020-01-31]/[2020-02-03], [2020-01-31]-[2020-02-03], [2020-01-31]–[2020-02-03]
date: [2020-01-31T10:00]/[2020-02-03T11:00], [2020-01-31 10:00]-[2020-02-03]
date: [31.01.2020]-[04.02.2020], [2020-01-31]/[2020-02-04]
date: [3.1.-9.1.2020], [31.01.–02.02.2020], [20.-25.1.2020]
date: [2020-Jan-31], [Jan-31-2020], [2020 January 31]; [2020 Mar 5]
date: on [31 March], [March 5] and [5 May]; [31 Jan], [Dec 24], [3. Okt.] and [7 June]
date: le [3 mars], du [3 au 5 mars]
date: [31 jan], [24 DEC] and [May 5].
date: [12.03.2019-0800], [2019-03-12+01:00] and [12/03/2019+0530].
date: On [May 12] patients came, since [May 12] cases rose; in [May 2019] 12 patients, [May 12] shows it
date: In [May 12] we saw, [May 12], patients; in [January 12] of 30 patients
phone: call [+49 (421) 123-456] or [0421/123456]
phone: [0421.12.34.56], [0421 / 12 34 56]
phone: [+44 (0)20 7946 0958], [0044 20 7946 0958]
phone: [(415) 555-2671], [415-555-2671], [415.555.2671], [1-800-555-2671]
phone: [01 23 45 67 89], [(0421) 123456]
phone: tel. [555 123 456], Telefon: [421 123456]
phone: [+1 415 555 2671 ext. 12]
phone: [+49\u00a0421\u202f123456]
phone: [0171 1234567]/[0172 7654321], [0421 123456] [0421 654321]
phone: [0171 1234567]/[01727654321], [+49 171 1234567] [+49 172 7654321]
phone: [+49 171 1234567] 12:30, Tel. [421 123456] 12:30
phone: [0421 123456],[0421 654321]
phone: [06 12 34 56 78] [06 98 76 54 32]
phone: [+44 020 7946 0958], [01 02 03 04 05], [0049 0421 123456]
phone: Tel.: [1234567], Fax.: [5552671], Tel. Nr.: [555 2671], Tel-Nr [5552671]
phone: [(555)010-9999], [(555) 010-9999], phone [(555) 123-4567], ph[(123)456-7890]
phone: [(000) 000-0000], [1 (555) 123-4567 ext. 12], [+1 (555) 010-9999], [001 (555) 010-9999]
phone: call me: [4155552671], ph [4155552671], My number: [4155552671], Whatsapp: [4155552671]
phone: text her at [4155552671], reach me on [415 555 2671], Ph. [415 555 2671], Meine Nummer ist [421123456]
phone: [(030) 123 4567 89], (555) [0171 1234567], tel [(55) 1234-5678]
passport: passport no. [C01X00T47], Passport number: [123456789]
passport: Reisepass Nr. [C01X00T47]
passport: Passport #: [123456789], Passport-No: [123456789]
passport: passeport n° [12AB34567], passport: [c01x00t47]
vehicle: VIN [1M8GDM9AXKP042788]
vehicle: registration: [AB12 CDE], Kennzeichen [HB-AB 123]
postcode: ZIP code [90210], PLZ [28359], postcode [SW1A 1AA]
postcode: PLZ.: [28195], postcode [sw1a1aa], postcode [1234] in Bern
"""

LEFT = """
BP 120/80 mmHg, pulse 72, temperature 36.8, saturation 98%
BP 135/85 (right) 130/80 (left), 110/70 standing
creatinine 0.9, 0.8 and 0.75 mg/dl
creatinine 0.9 0.8 0.75 1.2 mg/dl
Na 140, K 4.2, Cl 101, HCO3 24, urea 5.1
ICD E11.9, I10, F32.1, C50.911, Z00.00
ICD-10: J45.909; ICD-9 493.90
room 12, bed 3, ward 7, floor 2
paracetamol 500 mg 1-0-1, ibuprofen 400 mg 1/2 tablet
amoxicillin 875/125 mg twice daily for 7 days
insulin 10-12-8 units, 4 units at bedtime
2 x 500 mg, 3 x 1 g, 0.5 ml, 1.25 mg/kg
12 may have died, 3 may be ill
May 12 patients were seen, worse than before. In January 30 people came, im März 12 Patienten
3 mars bars a day
she may walk, march on, and sept is French for seven
dec 5 units, set 3 screws, gen 2 device
weight 72.5 kg, height 1.78 m, BMI 22.9
HbA1c 6.5% (48 mmol/mol)
glucose 5.6-7.0 mmol/l, 100-125 mg/dl
visited at 10:30 and 14:45, 08.30-10.45 Uhr
from 9 am to 5 pm
order 4111 1111 1111 1112
number 1234567890123
IBAN DE89 3704 4044 1532 1130 01
in 12 patients of 500 the dose was 20 mg
is 12 years old, no 12 in the list, at 10 am
ssn not 900-12-3456
ratio 1:2:3, titre 1:160, odds 3.2:1
10.0.0.256 is no address
std::string and a :: b
version 2.10, chapter 3.2.1, table 4.5
GCS 15 (4-5-6), Apgar 9 and 10
p < 0.001, 95% CI 0.85-1.15, n = 1024
t(98) = 2.31, F(2, 45) = 3.18, r = 0.45
MRI T2 4.5 x 3.2 x 2.1 cm
L4/L5 disc, C5-C6, Th12
vision 6/6, 20/20, 20/40
ejection fraction 55-60%
FEV1 2.45 l (78%), FVC 3.10 l
WBC 11.2 10^9/l, Hb 13.5 g/dl, platelets 250
T 38.5, HR 110, RR 22
blood group 0 positive, A negative
gestation 39+2, G2P1
pT2 pN1 M0 R0 G3
stage IIIb, grade 2 of 4
cost 1,250.00 EUR, 12.500,50 €
1 000 000 people, 2 500 visits
in 2019 and 2020, since 1998
between 1990-1995 and 2001/2002
the 1st, 2nd and 3rd visit
score 10/12 points, 8 of 10
dose 0.05-0.10 mg
0.5 1.0 1.5 2.0 2.5
5 mg/5 ml, 100 IU/ml
Ada Lovelace, at the hospital dot matrix
mail her at noon, not @home
@ward 7 and user@localhost
#12345, item 00123
the passport was lost in 3 countries
registration took 20 minutes
the plate shows 3 colonies
zip lock of 12 bags
call 112 or 911
QRS 90 ms, QTc 420 ms, PR 160 ms
pH 7.35 7.38 7.40, pCO2 40 pO2 95
EF 60 LVEDD 48 TAPSE 22
aspirin 81 mg, clopidogrel 75 mg, 2020 ml in 24 h
1234.5678.9012 units
deadbeef and cafe
augustus 12 and marzipan 3 and juniper 5
السكر 5.6 والضغط 120/80
血压 120/80，体温 36.8
🙂 12 🙂
doses 10/20/40 mg and 10-20-30 mg, 5/10/15 %
0800-1600 shift, 0700 - 1900
sample 2020-13-45 and 99/99/99
Troponin 14 -> 52 ng/l at 0 h/3 h/6 h, lactate 1.1/0.9/0.8
Ramipril 5 mg 1-0-1-0, Metoprolol 47,5 mg, TA 12/8
ISBN 978-3-16-148410-0, PMID 12345678, chr17:7676154
"""


ACROSS = r"""
card: card [4111 1111\n1111 1111] and [4111\t1111\t1111\t1111]
card: [4111-1111-\n1111-1111]\nbed 12
card: [411111111111\n1111], [5555   5555   5555   4444]
card: [4111 1111\r\n   1111 1111]
iban: IBAN [DE89 3704 0044\n0532 0130 00]
iban: [DE89  3704  0044  0532  0130  00]\nPAID
iban: [GB82 WEST\n1234 5698 7654 32], [DE89\u20283704 0044 0532 0130 00]
national_id: NIR [1 84 12 76\n451 089 46]
email: write to [ada.lovelace@exam\n  ple.org], please
email: [ada@\nexample.org] or [bo@example.\norg]
email: [ada@example.org]\nThanks
us_ssn: [219-09-\n9999]
us_ssn: SSN\t[536\t22\t8726], ssn: [536 22\n8726]
uuid: [123e4567-e89b-12d3-\na456-426614174000]
date: born [3 January]\n[2020], seen
date: am [3.\n12. 2020]
phone: [+49 421 123]\n[456 78] bed 3
phone: Tel: [0421 123456]\n12 tablets
phone: [+49 421 1234567]\n42 patients
phone: call [0421\n123456] now
phone: Phone:\n[421 123456]
phone: [415-555-\n2671], [415.555.\n2671] or [415-555\n-2671]
card: [5500_0000_\n0000_0004] and [5500/0000/\n0000/0004]
iban: [DE89-3704-0044-\n0532-0130-00], [DE89.3704.0044.\n0532.0130.00]
iban: [BE68-5390-\n0754-7034], [NL91-ABNA-\n0417-1643-00], [AT61-1904-3002-\n3457-3201]
national_id: [12345678-\nZ] and [X1234567-\nL]
national_id: BSN:\n[111222333]
national_id: BSN:     [111222333]
national_id: Burgerservicenummer\n  [111222333], BSN:\t\t\t[111222333]
vehicle: VIN [1HGCM826\n33A004352]
vehicle: plate:\n[HB-AB 123]
date: [31.12.\n1999], [2020-03-\n04], [1999-\n12-31], [01/02/\n2020]
card: > card [4111 1111\n> 1111 1111]
iban: > IBAN [DE89 3704 0044\n> 0532 0130 00]
email: > [ada@exam\n> ple.org]
phone: > tel [+49 421\n> 1234567]
card: > card [4111 1111\r\n> 1111 1111] ok
iban: > IBAN [DE89 3704 0044\r\n> 0532 0130 00]
email: > mail [ada@exam\r\n> ple.org], [ada.lovelace@\r\n> example.org]
us_ssn: > SSN [536-22-\r\n> 8726]
vehicle: > VIN [1M8GDM9AX\r\n> KP042788]
card: [4111 1111 11\n11 1111], [4111-1111-1111-11\n11], [3782 822463 100\n05]
national_id: [12345678\n-Z], [X-1234567\n-L]
email: [anna@192.168.\n10.25], done
phone: Tel.:\n> [5551234567]
passport: Passport number:\n[C01X00T47]
postcode: PLZ\n[28359]
"""

APART = r"""
creatinine\n0.9\n0.8\n0.75\n1.2\nmg/dl
4\n111\n11\n11\n11\n11\n11\n11
4  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1
BP 120/80\npulse 72\n36.8
order 4111 1111\n1111 1112
IBAN DE89 3704\n4044 1532 1130 01
call\n\n421123 samples
May\n12 patients were seen
note @ward\n7 and user@\nlocalhost
06:00\t72\t120\t80\t98\n07:00\t75\t118\t78\t97
08:00\n120/80\n72 and 08:00 120/80 72
SpO2 98%@2L.\nPatient stable. HR 72@rest.\nBP 120/80, 97@RA.\nLungs clear
O: HR 72 80 75\nA: pneumonia
RR 18 20 22\n\nA: pneumonia
pain 3\nMay take ibuprofen
Fluid 0600\n250 ml
250\n312\n640\n215\n333\n478\n512\n601\n222\n345
4500\n2500\n3400\n4100\n2800\n3900\n4400
4111\n1111\n1111\n1111
4111 1111\r\r1111 1111
ada@\r\rexample.org and tel\n>\n> 555267199
see dr.lee@clinic\n.He agreed
Red cell\t4.52\t4.50-5.50 and PH\t7.35\t7.38\t7.41, Cel\t37.2\t38.1\t36.9
Plasma cell\t120\t100\t300, levels reach\n120 130 140 mg
"""


def lines_of(text: str) -> list[str]:
    return [line for line in text.strip().split("\n") if line]


def bracketed(text: str) -> list[tuple[str, str]]:
    return [(entity.kind, text[entity.begin : entity.end]) for entity in entities_in(pa.array([text]), KINDS).get(0, [])]


def expected_of(marked: str) -> tuple[str, list[str]]:
    """Return a line without its brackets, and what stands in the outermost of them; one behind a backslash is text."""
    text, found, depth = "", [""], 0
    for character in re.findall(r"\\.|.", marked, re.DOTALL):
        if character == "[" and depth == 0:
            depth = 1
        elif character == "]" and depth == 1:
            depth, found = 0, [*found, ""]
        else:
            depth += {"[": 1, "]": -1}.get(character, 0) if depth else 0
            text += character[-1]
            found[-1] += character[-1] if depth else ""
    return text, found[:-1]


@pytest.mark.parametrize("line", lines_of(FOUND))
def test_what_identifies_people_is_found(line: str) -> None:
    kind, _, marked = line.partition(": ")
    text, expected = expected_of(marked)
    assert bracketed(text) == [(kind, value) for value in expected]


@pytest.mark.parametrize("line", lines_of(ACROSS))
def test_what_a_line_end_divides_is_found(line: str) -> None:
    kind, _, marked = line.encode().decode("unicode_escape").partition(": ")
    text, expected = expected_of(marked)
    assert bracketed(text) == [(kind, value) for value in expected]


@pytest.mark.parametrize("line", lines_of(APART))
def test_what_belongs_to_several_lines_stays(line: str) -> None:
    assert bracketed(line.encode().decode("unicode_escape")) == []


@pytest.mark.parametrize("line", lines_of(LEFT))
def test_ordinary_prose_stays_as_it_is(line: str) -> None:
    assert bracketed(line) == []


def test_a_text_is_found_among_others_as_alone() -> None:
    texts = [expected_of(line.partition(": ")[2])[0] for line in lines_of(FOUND)] + lines_of(LEFT)
    together = entities_in(pa.array([*texts, None, ""]), KINDS)
    assert together == {row: found[0] for row, found in ((row, entities_in(pa.array([text]), KINDS)) for row, text in enumerate(texts)) if found}


def test_kinds_are_those_asked_for() -> None:
    texts = pa.array(["ada@example.org 10.0.0.1"])
    assert [entity.kind for entity in entities_in(texts, ["ip"])[0]] == ["ip"]
    assert entities_in(texts, []) == {}


def test_what_stands_beside_another_kind_is_not_lost() -> None:
    assert bracketed("0171 1234567 12.03.20") == [("phone", "0171 1234567"), ("date", "12.03.20")]


def test_what_is_kept_takes_no_place_from_what_is_replaced() -> None:
    text = "Weight 4519\n0421 475951"
    found = entities_in(pa.array([text]), KINDS, ["card"])[0]
    assert [(entity.kind, text[entity.begin : entity.end]) for entity in found] == [("phone", "0421 475951")]


def test_columns_of_numbers_are_no_cards() -> None:
    rows = range(10_000_000, 90_000_000, 1_000_003)
    columns = ["\n".join(str(200 + (row * place) % 451) for place in range(3, 13)) for row in rows]
    columns += ["\n".join(str(2500 + (row * place) % 2001) for place in range(3, 10)) for row in rows]
    assert entities_in(pa.array(columns), ["card"]) == {}


@pytest.mark.parametrize("text", ["86\t095\t742\t719", "01\t42\t68\t53\t00", "SSN\t536\t22\t8726", "0845\t120/80\t78\t16", "a\t4111 1111 1111 1111"])
def test_what_a_text_becomes_does_not_hang_on_its_neighbours(text: str) -> None:
    alone = entities_in(pa.array([text]), KINDS).get(0)
    assert entities_in(pa.array([text, "Gr\u00fc\u00dfe"]), KINDS).get(0) == alone
    assert entities_in(pa.array([text, "Gr\u00fc\u00dfe"]).slice(0, 1), KINDS).get(0) == alone


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("SSN\n012345678", "us_ssn", "012345678"),
        ("BSN:\n0123.45.672", "national_id", "0123.45.672"),
        ("123e4567-e89b-42d3-a456-\n012661417400", "uuid", "123e4567-e89b-42d3-a456-\n012661417400"),
        ("j0421123456@\nexample.org", "email", "j0421123456@\nexample.org"),
    ],
)
def test_what_is_kept_in_one_line_hides_nothing_that_goes_over_it(text: str, kind: str, value: str) -> None:
    found = [entity for entity in entities_in(pa.array([text]), KINDS, ["phone", "url"])[0] if entity.kind not in ("phone", "url")]
    assert [(entity.kind, text[entity.begin : entity.end]) for entity in found] == [(kind, value)]


@pytest.mark.parametrize(("text", "parts"), [("ada@\nwww.example.org", ["ada@\n", "www.example.org"])])
def test_of_an_address_over_two_lines_all_parts_are_found(text: str, parts: list[str]) -> None:
    found = entities_in(pa.array([text]), KINDS)[0]
    assert all(any(text.index(part.strip()) >= entity.begin and text.index(part.strip()) < entity.end for entity in found) for part in parts)

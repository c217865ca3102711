cat people.csv | sfumato run policy.yaml 2> words.txt

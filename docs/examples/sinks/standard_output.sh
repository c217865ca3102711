sfumato run policy.yaml 2> words.txt | sort | uniq -c

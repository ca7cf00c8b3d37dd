"""The logic of questions to the user, without any screen: what is asked, the possible answers, and rules that would
match.
"""

"""The logic of questions to the user, free of any screen: what is asked, how it is answered, which rule would fit."""

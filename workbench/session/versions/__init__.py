"""What files held: versions of the workspace, changes from outside, and what the person takes back."""

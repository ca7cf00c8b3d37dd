"""What a command line of bash would do, part by part; `scan.assess_command` is the way in."""

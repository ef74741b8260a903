module texttools

go 1.21

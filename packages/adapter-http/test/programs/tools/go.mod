module tools

go 1.22

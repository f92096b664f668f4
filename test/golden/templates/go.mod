module upkeep-golden

go 1.19

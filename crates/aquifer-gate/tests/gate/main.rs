mod audit;

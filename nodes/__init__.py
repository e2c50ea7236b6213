"""The graph's seven nodes, one file each; `decide/` judges without acting, `lanes/` acts."""

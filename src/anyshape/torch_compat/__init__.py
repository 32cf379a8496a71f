"""Every private name of torch that anyshape uses, by concept. See the folder's README."""

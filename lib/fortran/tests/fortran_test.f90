! What the module promises, on any number of nodes: every node checks the same; exit status 1 if anything is wrong. With the argument
! "wrong", a kernel asks for a view of another type, and the run fails.
module kernels
   use tacit
   use, intrinsic :: iso_c_binding
   use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
   implicit none
   type, bind(c) :: factors
      real(c_double) :: factor
   end type
contains

   ! a(i, j, l) = i + 10 j + 100 l
   subroutine number3(k) bind(c)
      type(c_ptr), value :: k
      integer(int32), pointer :: a(:, :, :)
      integer(int64) :: lower(3), upper(3), i, j, l
      call tacit_chunk(k, lower, upper)
      call tacit_view(k, 1, a)
      do l = lower(3), upper(3)
         do j = lower(2), upper(2)
            do i = lower(1), upper(1)
               a(i, j, l) = int(i + 10 * j + 100 * l, int32)
            end do
         end do
      end do
   end subroutine

   ! b(i) = a(i - 1) + a(i + 1), cut at the ends; total: the sum of b
   subroutine neighbours(k) bind(c)
      type(c_ptr), value :: k
      real(real64), pointer :: a(:), b(:), total(:)
      integer(int64) :: lower(3), upper(3), i
      call tacit_chunk(k, lower, upper)
      call tacit_view(k, 1, a)
      call tacit_view(k, 2, b)
      call tacit_view(k, 3, total)
      do i = lower(1), upper(1)
         b(i) = 0
         if (i > lbound(a, 1)) b(i) = b(i) + a(i - 1)
         if (i < ubound(a, 1)) b(i) = b(i) + a(i + 1)
         total(1) = total(1) + b(i)
      end do
   end subroutine

   ! b(i, j) = factor a(j, i)
   subroutine turn(k) bind(c)
      type(c_ptr), value :: k
      real(real32), pointer :: a(:, :), b(:, :)
      type(factors), pointer :: f
      integer(int64) :: lower(3), upper(3), i, j
      call tacit_chunk(k, lower, upper)
      call tacit_view(k, 1, a)
      call tacit_view(k, 2, b)
      call c_f_pointer(tacit_args(k), f)
      do j = lower(2), upper(2)
         do i = lower(1), upper(1)
            b(i, j) = real(f%factor, real32) * a(j, i)
         end do
      end do
   end subroutine

   ! Item i touches element mod(7 i, n) + 1 of a line of n; the data is a number that must be there.
   subroutine scattered(lower, upper, shape, data, answer) bind(c)
      integer(c_int64_t), intent(in) :: lower(3), upper(3), shape(3)
      type(c_ptr), value :: data, answer
      type(factors), pointer :: f
      integer(int64) :: i, at
      call c_f_pointer(data, f)
      if (f%factor /= 2) error stop 'the data of the mapper is another one'
      do i = lower(1), upper(1)
         at = mod(7 * i, shape(1)) + 1
         call tacit_add_box(answer, [at], [at])
      end do
   end subroutine

   ! Items (i, j) touch row 2 of the columns m + 1 - j, of m
   subroutine mirrored(lower, upper, shape, data, answer) bind(c)
      integer(c_int64_t), intent(in) :: lower(3), upper(3), shape(3)
      type(c_ptr), value :: data, answer
      call tacit_add_box(answer, [2_int64, shape(2) + 1 - upper(2)], [2_int64, shape(2) + 1 - lower(2)])
      if (c_associated(data)) error stop 'this mapper has no data'
   end subroutine

   subroutine gather(k) bind(c)
      type(c_ptr), value :: k
      real(real64), pointer :: a(:), b(:)
      integer(int64) :: lower(3), upper(3), i
      call tacit_chunk(k, lower, upper)
      call tacit_view(k, 1, a)
      call tacit_view(k, 2, b)
      do i = lower(1), upper(1)
         b(i) = a(mod(7 * i, 17_int64) + 1)
      end do
   end subroutine

   ! b(i, j) = i + a(2, 10 - j): 9 columns
   subroutine mirror(k) bind(c)
      type(c_ptr), value :: k
      real(real32), pointer :: a(:, :), b(:, :)
      integer(int64) :: lower(3), upper(3), i, j
      call tacit_chunk(k, lower, upper)
      call tacit_view(k, 1, a)
      call tacit_view(k, 2, b)
      do j = lower(2), upper(2)
         do i = lower(1), upper(1)
            b(i, j) = real(i, real32) + a(2, 10 - j)
         end do
      end do
   end subroutine

   ! c(i): how many items the call has that computes it
   subroutine share(k) bind(c)
      type(c_ptr), value :: k
      real(real32), pointer :: c(:)
      integer(int64) :: lower(3), upper(3)
      call tacit_chunk(k, lower, upper)
      call tacit_view(k, 1, c)
      c(lower(1):upper(1)) = real(upper(1) - lower(1) + 1, real32)
   end subroutine

   ! total: the sum of the items' numbers; one number without dimensions
   subroutine add_up(k) bind(c)
      type(c_ptr), value :: k
      integer(int64), pointer :: total
      integer(int64) :: lower(3), upper(3), i
      call tacit_chunk(k, lower, upper)
      call tacit_view(k, 1, total)
      do i = lower(1), upper(1)
         total = total + i
      end do
   end subroutine

   ! c(1): which node this is
   subroutine which_node(k) bind(c)
      type(c_ptr), value :: k
      integer(int32), pointer :: c(:)
      call tacit_view(k, 1, c)
      c(:) = tacit_launch_node(k)
   end subroutine

   ! c(i) = the sum of column i of a, in the box that the access declares
   subroutine columns(k) bind(c)
      type(c_ptr), value :: k
      real(real32), pointer :: a(:, :), c(:)
      integer(int64) :: lower(3), upper(3), i
      call tacit_chunk(k, lower, upper)
      call tacit_view(k, 1, a)
      call tacit_view(k, 2, c)
      do i = lower(1), upper(1)
         c(i) = sum(a(:, i)) + 1000 * lbound(a, 1)
      end do
   end subroutine
end module

program fortran_test
   use kernels
   implicit none
   type(tacit_context) :: ctx
   type(tacit_buffer) :: cube, a, b, total, m, t, c, single, where_it_ran
   integer(int32) :: nodes(3)
   integer(int64) :: whole
   integer(int32) :: numbers(3, 5, 11), want(3, 5, 11)
   real(real64) :: line(17), next(17), sums(1)
   real(real32) :: matrix(4, 9), turned(9, 4), by_column(9)
   type(factors), target :: f
   type(tacit_mapper) :: custom, other
   type(tacit_weights) :: weights
   real(real32) :: shares(40), smaller(3, 5), larger(4, 12)
   integer(int64) :: heavy(40)
   character(10) :: word
   integer :: i, j, l, failures, status

   failures = 0
   call get_command_argument(1, word)
   call tacit_init(ctx)

   call tacit_buffer_create(ctx, cube, shape(numbers), storage_size(numbers) / 8, 'cube')
   call tacit_submit(ctx, 'number', shape(numbers), number3, [tacit_write(cube, one_to_one())])
   call tacit_fence_read(ctx, cube, numbers)
   want = reshape([(((i + 10 * j + 100 * l, i=1, 3), j=1, 5), l=1, 11)], shape(want))
   call expect('three dimensions, by columns', all(numbers == want))

   line = [(real(i * i, real64), i=1, size(line))]
   call tacit_buffer_create(ctx, a, shape(line), storage_size(line) / 8, 'a', init=line)
   call tacit_buffer_create(ctx, b, shape(line), storage_size(line) / 8, 'b')
   call tacit_buffer_create(ctx, total, [1], storage_size(sums) / 8, 'total')
   call tacit_submit(ctx, 'neighbours', shape(line), neighbours, [tacit_read(a, neighborhood([1])), tacit_write(b, one_to_one()), &
                                                                  tacit_reduce(total, TACIT_OP_SUM, TACIT_DOUBLE)], &
                     on=TACIT_ON_HOST)
   call tacit_fence_read(ctx, total, sums)
   call tacit_fence_read(ctx, b, next)
   ! at a border of two nodes, too, a(i - 1) is there; only a view that begins with item 1 has none before it
   call expect('a neighbourhood', all(next(2:16) == line(1:15) + line(3:17)))
   call expect('ends', next(1) == line(2) .and. next(17) == line(16))
   call expect('a sum', abs(sums(1) - sum(next)) < 1e-9_real64)

   matrix = reshape([(real(i, real32), i=1, size(matrix))], shape(matrix))
   f%factor = 2
   call tacit_buffer_create(ctx, m, shape(matrix), storage_size(matrix) / 8, 'm', init=matrix)
   call tacit_buffer_create(ctx, t, shape(turned), storage_size(turned) / 8, 't')
   call tacit_submit(ctx, 'turn', shape(turned), turn, [tacit_read(m, transposed([2, 1])), tacit_write(t, one_to_one())], &
                     split=TACIT_SPLIT_2D, args=c_loc(f), args_size=storage_size(f) / 8)
   call tacit_fence_read(ctx, t, turned)
   call expect('transposed, with an argument', all(turned == 2 * transpose(matrix)))

   call tacit_buffer_create(ctx, c, [9], storage_size(by_column) / 8, 'c')
   call tacit_submit(ctx, 'columns', [9], columns, [tacit_read(m, fixed([2, 1], [3, 9])), tacit_write(c, all_of_it())], &
                     on=TACIT_ON_ONE_NODE)
   call tacit_fence_read(ctx, c, by_column)
   call expect('fixed: rows 2 and 3', all(by_column == sum(matrix(2:3, :), 1) + 2000))

   call tacit_mapper_create(ctx, custom, scattered, 1, data=c_loc(f))
   call tacit_submit(ctx, 'gather', shape(line), gather, [tacit_read(a, custom), tacit_write(b, one_to_one())])
   call tacit_fence_read(ctx, b, next)
   call expect('a custom mapper', all(next == [(line(mod(7 * i, 17) + 1), i=1, 17)]))
   call tacit_mapper_create(ctx, other, mirrored, 2)
   call tacit_buffer_create(ctx, t, shape(matrix), storage_size(matrix) / 8, 'mirror')
   call tacit_submit(ctx, 'mirror', shape(matrix), mirror, [tacit_read(m, other), tacit_write(t, one_to_one())])
   call tacit_fence_read(ctx, t, matrix)
   call expect('one in two dimensions', all(matrix == reshape([((real(i + 38 - 4 * j, real32), i=1, 4), j=1, 9)], [4, 9])))
   call tacit_mapper_destroy(ctx, custom)
   call tacit_submit(ctx, 'gather', shape(line), gather, [tacit_read(a, custom), tacit_write(b, one_to_one())], status=status)
   call expect('one that is destroyed', status /= 0 .and. index(tacit_last_error(ctx), 'destroyed') > 0)
   call tacit_mapper_create(ctx, custom, scattered, 4, status=status)
   call expect('four dimensions', status /= 0 .and. index(tacit_last_error(ctx), 'rank is 4') > 0)

   call tacit_buffer_resize(ctx, t, [3, 5])
   call tacit_fence_read(ctx, t, smaller)
   call expect('a smaller buffer', all(smaller == matrix(1:3, 1:5)))
   call tacit_buffer_resize(ctx, t, [4, 12])
   call tacit_fence_read(ctx, t, larger, status)
   call expect('a larger one has parts that nobody wrote', status /= 0)
   call tacit_buffer_resize(ctx, t, [7], status)
   call expect('one of other dimensions', status /= 0)

   heavy = [(merge(20_int64, 1_int64, i <= 8), i=1, size(heavy))]
   call tacit_weights_create(ctx, weights, heavy)
   call tacit_buffer_create(ctx, c, shape(shares), 4, 'shares')
   call tacit_submit(ctx, 'share', shape(shares), share, [tacit_write(c, one_to_one())], on=TACIT_ON_HOST, item_weights=weights)
   call tacit_fence_read(ctx, c, shares)
   ! node 0 has few heavy items, the last node many light ones
   call expect('weights', tacit_num_nodes(ctx) == 1 .or. &
               (shares(1) < 40.0 / tacit_num_nodes(ctx) .and. shares(40) > 40.0 / tacit_num_nodes(ctx)))
   call tacit_weights_destroy(ctx, weights)
   call tacit_weights_create(ctx, weights, [1_int64, -2_int64], status)
   call expect('a negative weight', status /= 0 .and. index(tacit_last_error(ctx), 'weight 2 is -2') > 0)

   call tacit_buffer_create(ctx, single, [integer ::], storage_size(whole) / 8, 'single')
   call tacit_submit(ctx, 'add up', [100], add_up, [tacit_reduce(single, TACIT_OP_SUM, TACIT_INT64)])
   call tacit_fence_read(ctx, single, whole)
   call expect('a number without dimensions', whole == 5050)
   call tacit_buffer_create(ctx, where_it_ran, [3], storage_size(nodes) / 8, 'where it ran')
   call tacit_submit(ctx, 'where', [3], which_node, [tacit_write(where_it_ran, one_to_one())], node=tacit_num_nodes(ctx) - 1)
   call tacit_fence_read(ctx, where_it_ran, nodes)
   call expect('a placed task', all(nodes == tacit_num_nodes(ctx) - 1))
   call tacit_submit(ctx, 'where', [3], which_node, [tacit_write(where_it_ran, all_of_it())], owner=1, priority=2, &
                     whole_chunk=.true.)
   call tacit_fence_read(ctx, where_it_ran, nodes)
   call expect('one on its owner', all(nodes == 0))
   call tacit_submit(ctx, 'where', [3], which_node, [tacit_write(where_it_ran, all_of_it())], node=0, owner=1, status=status)
   call expect('both', status /= 0 .and. index(tacit_last_error(ctx), 'node or owner') > 0)

   call tacit_buffer_create(ctx, b, [3, 3], 8, 'other', init=line, status=status)
   call expect('init of another shape', status /= 0 .and. index(tacit_last_error(ctx), 'another shape') > 0)
   call tacit_fence_read(ctx, m, line, status)
   call expect('an array of another shape', status /= 0 .and. index(tacit_last_error(ctx), "buffer 'm'") > 0)
   call tacit_submit(ctx, 'large', [99], columns, [tacit_write(a, one_to_one())], status=status)
   call expect('a task that is too large', status /= 0 .and. index(tacit_last_error(ctx), 'large') > 0)
   call tacit_submit(ctx, 'half', shape(line), columns, [tacit_write(a, one_to_one())], args=c_loc(f), status=status)
   call expect('arguments without a size', status /= 0 .and. index(tacit_last_error(ctx), 'args and args_size') > 0)
   call tacit_submit(ctx, 'half', shape(line), columns, [tacit_write(a, one_to_one())], args_size=8, status=status)
   call expect('a size without arguments', status /= 0 .and. index(tacit_last_error(ctx), 'args and args_size') > 0)
   call tacit_buffer_destroy(ctx, c)
   if (word == 'wrong') then
      call tacit_submit(ctx, 'turn', shape(turned), turn, [tacit_read(cube, all_of_it()), tacit_read(a, all_of_it())], &
                        args=c_loc(f), args_size=8)
   end if
   call tacit_wait(ctx)
   call tacit_barrier(ctx)
   call tacit_finalize(ctx)
   if (failures > 0) error stop 1, quiet=.true.

contains

   subroutine expect(what, good)
      character(*), intent(in) :: what
      logical, intent(in) :: good
      if (good) return
      failures = failures + 1
      write (*, '(2a)') 'not true: ', what
   end subroutine
end program
